export const AUTO = 'auto';
