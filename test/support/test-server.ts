/** Passed from the global setup to the test files, which run in other processes. */
export interface TestServer {
  /** Connection URL of the service. */
  url: string;
  /** Connection URL of a role that is allowed to create databases. */
  ownerUrl: string;
  /** Name of the migrated database that is cloned. */
  template: string;
}

const variable = 'SWITCHBOARD_TEST_SERVER';

export function announceTestServer(server: TestServer): void {
  process.env[variable] = JSON.stringify(server);
}

export function testServer(): TestServer {
  const serialized = process.env[variable];
  if (!serialized)
    throw new Error("No test database server: run the tests with the project's jest.config.js.");
  return JSON.parse(serialized) as TestServer;
}
