/** The day on which the facts in this folder were last compared with their sources. */
export const CHECKED = '2026-11-26';
