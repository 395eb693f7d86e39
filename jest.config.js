const common = {
  testEnvironment: '<rootDir>/test/support/jest/environment.cjs',
  runtime: '<rootDir>/test/support/jest/runtime.cjs',
  setupFiles: ['<rootDir>/test/support/jest/setup.cjs'],
  transform: { '\\.ts$': ['@swc/jest'] },
};

// Only files that may need the database wait for its start; a unit test starts at once.
/** @type {import('jest').Config} */
module.exports = {
  // A file waits for its database and its supplier most of the time: two at once take little more than half as long.
  maxWorkers: 2,
  // Ends a test that hangs; what has to be quick says so itself.
  testTimeout: 60_000,
  // What a file loads is not given back when it is done. One process for all of them ends at the engine's limit.
  workerIdleMemoryLimit: '1GB',
  testSequencer: '<rootDir>/test/support/jest/sequencer.cjs',
  projects: [
    { ...common, displayName: 'unit', testMatch: ['<rootDir>/test/unit/**/*.test.ts'] },
    {
      ...common,
      displayName: 'service',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/unit/'],
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    },
  ],
};
