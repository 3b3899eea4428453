// A field above the table of networks, which shows the rows that contain every word typed.
document.addEventListener("DOMContentLoaded", () => {
  const title = document.querySelector("h1#table-of-the-shipped-networks");
  const table = title && title.parentElement.querySelector("table");
  if (!table) return;
  const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Search: moe, resnet, 8B, …";
  field.setAttribute("aria-label", "Search the table of networks");
  field.className = "table-filter";
  const count = document.createElement("p");
  count.setAttribute("aria-live", "polite");
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} of ${rows.length} networks`;
  };
  field.addEventListener("input", show);
  title.parentElement.insertBefore(field, table.closest(".md-typeset__scrollwrap") || table);
  field.after(count);
  show();
});
