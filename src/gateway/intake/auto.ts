/** The model id that leaves the choice to the service. */
export const AUTO = 'auto';
