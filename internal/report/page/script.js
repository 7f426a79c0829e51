// Opens the folds around what a link leads to, and filters trials. The page reads without it.
const reveal = () => {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id && document.getElementById(id);
  if (!target) return;
  for (let d = target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
const filter = document.getElementById("filter");
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const family of document.querySelectorAll("details.family")) {
    let some = false;
    for (const trial of family.querySelectorAll("details.trial")) {
      trial.hidden = !words.every((w) => trial.dataset.find.includes(w));
      some ||= !trial.hidden;
      shown += trial.hidden ? 0 : 1;
    }
    family.hidden = !some;
    family.open = words.length > 0 && some;
  }
  document.getElementById("matches").textContent = words.length ? shown + " trials" : "";
});
