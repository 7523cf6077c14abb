// The page needs none of this: it adds filters and sorting to the tables of contrasts.
(function () {
  "use strict";
  function element(name, properties) { return Object.assign(document.createElement(name), properties || {}); }

  function filters(table) {
    var rows = Array.from(table.tBodies), names = [];
    rows.forEach(function (row) { if (names.indexOf(row.dataset.verdict) < 0) { names.push(row.dataset.verdict); } });
    if (names.length < 2) { return; }
    var bar = element("div", { className: "tools" });
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Show only");
    ["all"].concat(names).forEach(function (name) {
      var button = element("button", { type: "button", textContent: name.toLowerCase() });
      button.setAttribute("aria-pressed", String(name === "all"));
      button.addEventListener("click", function () {
        Array.from(bar.children).forEach(function (other) { other.setAttribute("aria-pressed", String(other === button)); });
        rows.forEach(function (row) { row.hidden = name !== "all" && row.dataset.verdict !== name; });
      });
      bar.append(button);
    });
    var place = table.closest(".scroll");
    place.before(bar);
    window.addEventListener("hashchange", function () {
      var row = document.getElementById(location.hash.slice(1));
      if (row && rows.indexOf(row) >= 0 && row.hidden) { bar.firstChild.click(); row.scrollIntoView(); }
    });
  }

  function key(cell) {
    var value = cell.dataset.value;
    if (value === undefined) { return cell.textContent.trim(); }
    return value === "None" ? -Infinity : Number(value);
  }

  function sorting(table) {
    var heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, index) {
      var button = element("button", { type: "button" });
      button.append.apply(button, Array.from(head.childNodes));
      head.append(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        Array.from(table.tBodies).sort(function (a, b) {
          var x = key(a.rows[0].cells[index]), y = key(b.rows[0].cells[index]), order = x < y ? -1 : x > y ? 1 : 0;
          return down ? -order : order;
        }).forEach(function (body) { table.append(body); });
      });
    });
  }

  document.querySelectorAll("table.contrasts").forEach(function (table) { filters(table); sorting(table); });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (details) { details.open = true; });
  });
})();
