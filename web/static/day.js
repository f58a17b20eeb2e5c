// While figures are being read, the page asks for them again and again.

import { $, lookAgain } from "./base.js";

const soon = () => $("[data-reading]") && setTimeout(lookAgain, 500);

document.addEventListener("looked", soon);
soon();
