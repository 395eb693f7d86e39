/* For pages that work without it. Listeners are the document's, so that swapped parts need no wiring. */
const root = document.documentElement;
const find = (selector, within = document) => within.querySelector(selector);
const findAll = (selector, within = document) => [...within.querySelectorAll(selector)];
const remember = (name, value) => {
  document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=31536000; samesite=lax`;
};

function announce(text) {
  const announcer = find('#announcer');
  // Cleared first, so that the same sentence twice is spoken twice.
  announcer.textContent = '';
  requestAnimationFrame(() => (announcer.textContent = text));
}

async function copy(button) {
  const text = button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text, button);
  }
  announce(find('#announcer').dataset.copied);
  button.dataset.copiedNow = '';
  setTimeout(() => delete button.dataset.copiedNow, 1500);
}

/** Plain http has no clipboard interface, and self-hosting often starts there. */
function copyBySelection(text, button) {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  button.after(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  button.focus();
}

function download(button) {
  const link = document.createElement('a');
  link.href = `data:application/octet-stream,${encodeURIComponent(`${button.dataset.content}\n`)}`;
  link.download = button.dataset.download;
  link.click();
}

function chooseTheme(button) {
  root.dataset.theme = button.dataset.themeChoice;
  remember('svc_theme', root.dataset.theme);
  for (const other of findAll('[data-theme-choice]')) {
    other.setAttribute('aria-pressed', String(other.dataset.themeChoice === root.dataset.theme));
  }
}

function toggleRow(link) {
  const row = document.getElementById(link.dataset.toggleRow);
  row.hidden = !row.hidden;
  link.setAttribute('aria-expanded', String(!row.hidden));
}

function reveal(button) {
  const input = document.getElementById(button.dataset.reveal);
  const shown = input.type === 'password';
  input.type = shown ? 'text' : 'password';
  button.setAttribute('aria-pressed', String(shown));
}

function selectTab(tab, { focus = false } = {}) {
  for (const other of findAll('[role=tab]', tab.parentElement)) {
    const selected = other === tab;
    other.setAttribute('aria-selected', String(selected));
    other.tabIndex = selected ? 0 : -1;
    document.getElementById(other.getAttribute('aria-controls')).hidden = !selected;
  }
  if (focus) tab.focus();
}

function moveBetweenTabs(event, tab) {
  const tabs = findAll('[role=tab]', tab.parentElement);
  const index = tabs.indexOf(tab);
  const next = {
    ArrowRight: tabs[(index + 1) % tabs.length],
    ArrowLeft: tabs.at(index - 1),
    Home: tabs[0],
    End: tabs.at(-1),
  }[event.key];
  if (!next) return;
  event.preventDefault();
  selectTab(next, { focus: true });
}

/** A live region does not change while it is paused or read. */
function toggleLive(button) {
  const paused = button.getAttribute('aria-pressed') !== 'true';
  button.setAttribute('aria-pressed', String(paused));
  find(button.dataset.livePause).toggleAttribute('data-paused', paused);
}

const clicks = {
  '[data-dialog-open]': (button) => document.getElementById(button.dataset.dialogOpen).showModal(),
  '[data-dialog-close]': (button) => button.closest('dialog').close(),
  '[data-copy]': copy,
  '[data-download]': download,
  '[data-theme-choice]': chooseTheme,
  '[data-toggle-row]': toggleRow,
  '[data-reveal]': reveal,
  '[data-dismiss]': (button) => button.closest('.toast, .banner').remove(),
  '[data-live-pause]': toggleLive,
  '[role=tab]': (tab) => selectTab(tab),
};

document.addEventListener('click', (event) => {
  for (const [selector, act] of Object.entries(clicks)) {
    const element = event.target.closest(selector);
    if (!element) continue;
    if (element.tagName === 'A') event.preventDefault();
    act(element);
    return;
  }
});

document.addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k' && find('#jump')) {
    event.preventDefault();
    find('#jump').showModal();
    return;
  }
  const tab = event.target.closest('[role=tab]');
  if (tab) moveBetweenTabs(event, tab);
  const inField = event.target.closest('input, select, textarea, [contenteditable]');
  if (event.key === '/' && !inField && !root.hasAttribute('data-no-shortcuts') && find('[data-filter-key]')) {
    event.preventDefault();
    find('[data-filter-key]').focus();
  }
});

/** The page of a link, in a drawer beside its list. */
const asFragment = { accept: 'text/html', 'hx-request': 'true' };
document.addEventListener('click', async (event) => {
  const link = event.target.closest('a[data-drawer]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const back = encodeURIComponent(location.pathname + location.search);
  const answer = await fetch(`${link.href}&back=${back}`, { headers: asFragment }).catch(() => undefined);
  if (answer?.ok && !answer.redirected) await fillDrawer(answer);
  else location.assign(link.href);
});

async function fillDrawer(answer) {
  const drawer = find('#drawer');
  const body = find('[data-drawer-body]', drawer);
  body.innerHTML = await answer.text();
  enhance(drawer);
  if (!drawer.open) drawer.showModal();
  (find('[autofocus]', body) ?? find('h1', body))?.focus();
}

/** What was refused stays in the drawer. */
document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (!form.closest('[data-drawer-body]') || form.method !== 'post') return;
  event.preventDefault();
  const answer = await fetch(form.getAttribute('action'), {
    method: 'POST',
    headers: asFragment,
    body: new URLSearchParams(new FormData(form, event.submitter)),
  }).catch(() => undefined);
  const next = answer?.headers.get('hx-redirect');
  if (!answer) form.submit();
  else if (next || answer.redirected) location.assign(next ?? answer.url);
  else await fillDrawer(answer);
});

/** Names of pages are in the list already. */
document.addEventListener('submit', (event) => {
  const input = find('#jump-input', event.target);
  if (!input) return;
  const wanted = input.value.trim().toLowerCase();
  const option = findAll('#jump-targets option').find(({ value }) => value.toLowerCase() === wanted);
  if (!option) return;
  event.preventDefault();
  location.assign(option.dataset.href);
});

/** A second click sends no form again. */
document.addEventListener('submit', ({ target }) => {
  if (target.matches('[data-once]')) for (const button of findAll('button', target)) button.disabled = true;
});
window.addEventListener('pageshow', () => {
  for (const button of findAll('[data-once] button')) button.disabled = false;
});

document.addEventListener('input', (event) => {
  const { target } = event;
  if (target.matches('[data-picker-search]')) filterPicker(target);
  if (target.matches('[data-confirm-phrase]')) {
    target.setCustomValidity(
      target.value === target.dataset.confirmPhrase ? '' : target.dataset.confirmPhrase,
    );
  }
});

function filterPicker(search) {
  const wanted = search.value.toLowerCase();
  for (const item of findAll('[data-picker-item]', search.closest('[data-picker]'))) {
    item.hidden = !item.textContent.toLowerCase().includes(wanted);
  }
}

/** A list under the pointer or the focus keeps what it shows. */
document.addEventListener('htmx:before:request', (event) => {
  const live = event.target.closest('[data-live]');
  if (live && (live.hasAttribute('data-paused') || live.matches(':hover, :focus-within')))
    event.preventDefault();
});

/** Controls that need this file are hidden until it has come. */
function enhance(within = document) {
  const controls =
    '[data-theme-switch], [data-reveal], [data-download], [data-picker-search], [data-live-pause]';
  for (const control of findAll(controls, within)) control.hidden = false;
  for (const input of findAll('[data-confirm-phrase]', within))
    input.setCustomValidity(input.dataset.confirmPhrase);
}

document.addEventListener('htmx:after:swap', () => enhance());
enhance();
// A narrow screen has the navigation in one line that scrolls; the page itself must not.
const current = find('.nav [aria-current]');
if (current) {
  const line = current.closest('.nav');
  const { left, width } = current.getBoundingClientRect();
  const frame = line.getBoundingClientRect();
  line.scrollLeft += left + width / 2 - frame.left - frame.width / 2;
}
if (!document.cookie.includes('svc_time_zone=')) {
  remember('svc_time_zone', Intl.DateTimeFormat().resolvedOptions().timeZone);
}
