/** The day on which the facts of these lists were last compared with their sources. */
export const CHECKED = '2026-11-26';
