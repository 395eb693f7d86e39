/* Shortcuts of a single letter can be switched off: speech input and unsteady hands press them by accident. */
document.querySelector('[data-shortcuts-choice]').addEventListener('change', ({ target: { checked } }) => {
  document.documentElement.toggleAttribute('data-no-shortcuts', !checked);
  const kept = checked ? 'on' : 'off';
  document.cookie = `svc_shortcuts=${kept}; path=/; max-age=31536000; samesite=lax`;
});
