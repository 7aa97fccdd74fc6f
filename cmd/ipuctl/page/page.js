// SPDX-License-Identifier: Apache-2.0
// Without this script, the page has all it says. It adds the keys of the map and the search in tables.
'use strict';

for (const map of document.querySelectorAll('[data-map]')) {
  const ipus = Array.from(map.querySelectorAll('.ipu'));
  const line = document.getElementById(map.dataset.map);
  const show = (ipu) => { line.textContent = ipu.getAttribute('aria-label'); };

  // Returns the IPU of the next line up (-1) or down (1) that stands nearest.
  const beside = (ipu, direction) => {
    const from = ipu.getBoundingClientRect();
    let best = ipu;
    let least = Infinity;
    for (const other of ipus) {
      const to = other.getBoundingClientRect();
      const down = (to.top - from.top) * direction;
      if (down < from.height / 2) continue;
      const far = down * 1000 + Math.abs(to.left - from.left);
      if (far < least) { least = far; best = other; }
    }
    return best;
  };

  map.addEventListener('keydown', (event) => {
    const at = ipus.indexOf(event.target);
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    let next;
    switch (event.key) {
      case 'ArrowRight': next = ipus[Math.min(at + 1, ipus.length - 1)]; break;
      case 'ArrowLeft': next = ipus[Math.max(at - 1, 0)]; break;
      case 'ArrowDown': next = beside(ipus[at], 1); break;
      case 'ArrowUp': next = beside(ipus[at], -1); break;
      case 'Home': next = ipus[0]; break;
      case 'End': next = ipus[ipus.length - 1]; break;
      default: return;
    }
    event.preventDefault();
    next.focus();
  });
  map.addEventListener('focusin', (event) => {
    if (!ipus.includes(event.target)) return;
    for (const ipu of ipus) ipu.tabIndex = ipu === event.target ? 0 : -1;
    show(event.target);
  });
  map.addEventListener('pointerover', (event) => {
    if (ipus.includes(event.target)) show(event.target);
  });
}

for (const input of document.querySelectorAll('[data-filter]')) {
  const rows = Array.from(document.getElementById(input.dataset.filter).tBodies[0].rows);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const told = input.parentElement.querySelector('output');
  input.addEventListener('input', () => {
    const wanted = input.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !texts[i].includes(wanted);
      if (!row.hidden) ++shown;
    });
    told.textContent = `${shown} of ${rows.length}`;
  });
  input.parentElement.hidden = false;
}
