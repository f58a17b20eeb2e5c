// Settings of the service: how long things are kept, the login, people, keys for programs.

import "./keeping.js";
import "./access.js";
