// Files that are chosen or dropped on their field, and sent as a form.

import { $, $$, words } from "./base.js";

for (const field of $$("[data-drop]")) {
  const input = $("input", field);
  const place = $(".chosen", field);
  const invitation = place.textContent;
  const show = () => {
    const names = [...input.files].map((file) => file.name);
    place.textContent = names.length ? `${words.chosen}: ${names.join(", ")}` : invitation;
  };
  // The event of a form comes before the form is empty.
  input.form.addEventListener("reset", () => setTimeout(show));
  for (const kind of ["dragenter", "dragover"]) {
    field.addEventListener(kind, (event) => {
      event.preventDefault();
      field.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) field.addEventListener(kind, () => field.classList.remove("over"));
  field.addEventListener("drop", (event) => {
    event.preventDefault();
    const dropped = new DataTransfer();
    for (const file of [...event.dataTransfer.files].slice(0, input.multiple ? 20 : 1)) dropped.items.add(file);
    if (!dropped.files.length) return;
    input.files = dropped.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  input.addEventListener("change", () => {
    show();
    $(".error", field).textContent = "";
    input.removeAttribute("aria-invalid");
  });
}

/** The files and texts of a form; null, with a message, when a required file is missing. */
export function collected(form) {
  const parts = new FormData();
  for (const input of $$("input", form)) {
    if (input.type !== "file") {
      if (input.name) parts.append(input.name, input.value);
      continue;
    }
    if (!input.files.length && "needed" in input.dataset) {
      $(".error", input.closest("[data-drop]")).textContent = words.no_file;
      input.setAttribute("aria-invalid", "true");
      input.focus();
      return null;
    }
    for (const file of input.files) parts.append(input.name, file);
  }
  return parts;
}
