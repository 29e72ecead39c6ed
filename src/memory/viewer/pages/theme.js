// Before the page is drawn, so that nothing flashes: the theme that was chosen here, if one was.
const chosen = localStorage.getItem("theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
