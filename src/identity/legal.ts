/** Of terms, acceptable use and privacy together: a change of any of them makes a new version to accept. */
export const currentLegalVersion = '2026-11-01';
