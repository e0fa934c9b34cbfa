document.querySelectorAll('table').forEach(function (table) {
  table.querySelectorAll('th').forEach(function (head, column) {
    head.addEventListener('click', function () {
      var up = head.getAttribute('aria-sort') !== 'ascending';
      table.querySelectorAll('th').forEach(function (other) { other.removeAttribute('aria-sort'); });
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      var body = table.tBodies[0], rows = Array.from(body.rows);
      rows.sort(function (one, other) {
        var a = one.cells[column].textContent, b = other.cells[column].textContent;
        var m = parseFloat(a), n = parseFloat(b);
        var order = isNaN(m) || isNaN(n) ? a.localeCompare(b) : m - n;
        return up ? order : -order;
      });
      rows.forEach(function (row) { body.appendChild(row); });
    });
  });
});
document.getElementById('filter').addEventListener('input', function (event) {
  var words = event.target.value.toLowerCase();
  Array.from(document.getElementById('applications').tBodies[0].rows).forEach(function (row) {
    row.hidden = row.textContent.toLowerCase().indexOf(words) === -1;
  });
});
