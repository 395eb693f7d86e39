/** The global setup tells the test files by this, which run in other processes, where the server is. */
export interface TestServer {
  /** As the service logs in. */
  url: string;
  /** As a role that may create databases. */
  ownerUrl: string;
  /** The migrated database that is cloned. */
  template: string;
}

const variable = 'SWITCHBOARD_TEST_SERVER';

export function announceTestServer(server: TestServer): void {
  process.env[variable] = JSON.stringify(server);
}

export function testServer(): TestServer {
  const announced = process.env[variable];
  if (!announced)
    throw new Error("No test database server: run the tests with the project's jest.config.js.");
  return JSON.parse(announced) as TestServer;
}
