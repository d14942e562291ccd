// Light or dark: as the system has it, or as the reader has chosen.
"use strict";

const THEMES = ["system", "dark", "light"];
let theme = "system";

function applyTheme() {
  const dark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = `Theme: ${theme}`;
}

function nextTheme() {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  try {
    localStorage.setItem("kernelwright-theme", theme);
  } catch {
    // A browser that keeps nothing for files: the choice lasts as long as the page.
  }
  applyTheme();
}

function prepareTheme() {
  try {
    const kept = localStorage.getItem("kernelwright-theme");
    if (THEMES.includes(kept)) theme = kept;
  } catch {
    theme = "system";
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  byId("theme").addEventListener("click", nextTheme);
  applyTheme();
}
