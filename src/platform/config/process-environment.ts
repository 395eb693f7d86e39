/** The one place that names the process environment; everybody else is handed Settings. */
export const processEnvironment: NodeJS.ProcessEnv = process.env;
