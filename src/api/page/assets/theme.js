// The theme that was chosen, set before anything is painted: a plain script, because modules come later.
(() => {
  let wanted = new URLSearchParams(location.search).get("theme");
  try {
    wanted = wanted || localStorage.getItem("theme");
  } catch {
    // Storage is switched off: the theme is that of the system.
  }
  if (wanted === "light" || wanted === "dark") document.documentElement.dataset.theme = wanted;
})();
