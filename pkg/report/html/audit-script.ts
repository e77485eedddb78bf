// What runs in the page of an audit: sorting by header, filtering by text, verdict and cause. Without it all rows are there, worst first.

export const AUDIT_SCRIPT = `
(() => {
  'use strict';
  const table = document.getElementById('services');
  if (table === null) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const headers = Array.from(table.tHead.rows[0].cells);
  const text = new Map();
  const textOf = (row) => {
    if (!text.has(row)) text.set(row, row.textContent.toLowerCase());
    return text.get(row);
  };

  // Numbers and texts alike; what is not known stays last in either direction.
  const compare = (index, numeric, sign) => (a, b) => {
    const left = a.cells[index].dataset.value;
    const right = b.cells[index].dataset.value;
    if (left === '' || right === '') return left === right ? 0 : left === '' ? 1 : -1;
    const order = numeric ? Number(left) - Number(right) : left < right ? -1 : left > right ? 1 : 0;
    return order * sign;
  };
  const sortBy = (header) => {
    const numeric = header.dataset.sort === 'number';
    const first = numeric ? 'descending' : 'ascending';
    const other = numeric ? 'ascending' : 'descending';
    const direction = header.getAttribute('aria-sort') === first ? other : first;
    for (const each of headers) each.setAttribute('aria-sort', each === header ? direction : 'none');
    const sign = direction === 'ascending' ? 1 : -1;
    rows.sort(compare(headers.indexOf(header), numeric, sign));
    body.append(...rows);
  };
  for (const header of headers) header.querySelector('button').addEventListener('click', () => sortBy(header));

  const filter = document.getElementById('filter');
  const verdict = document.getElementById('verdict');
  const cause = document.getElementById('cause');
  const shown = document.getElementById('shown');
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\\s+/).filter((word) => word !== '');
    let count = 0;
    for (const row of rows) {
      const visible =
        (verdict.value === '' || row.dataset.verdict === verdict.value) &&
        (cause.value === '' || row.dataset.cause === cause.value) &&
        words.every((word) => textOf(row).includes(word));
      row.hidden = !visible;
      if (visible) count += 1;
    }
    shown.textContent = count + ' of ' + rows.length + (rows.length === 1 ? ' Service' : ' Services');
  };
  filter.addEventListener('input', apply);
  verdict.addEventListener('change', apply);
  cause.addEventListener('change', apply);
  const clear = () => {
    filter.value = '';
    verdict.value = '';
    cause.value = '';
    apply();
  };
  document.getElementById('clear').addEventListener('click', () => {
    clear();
    filter.focus();
  });
  for (const button of document.querySelectorAll('button[data-show-cause]')) {
    button.addEventListener('click', () => {
      clear();
      cause.value = button.dataset.showCause;
      apply();
      cause.focus();
      document.getElementById('services-title').scrollIntoView({ block: 'start' });
    });
  }
  for (const element of document.querySelectorAll('[data-needs-script]')) element.hidden = false;
  apply();
})();
`;
