/** The only module that reads the process environment; others receive Settings. */
export const processEnvironment: NodeJS.ProcessEnv = process.env;
