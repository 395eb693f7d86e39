import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';
import { ChatClient, type Person } from './chat-client';

export let app: TestApp;
export let supplier: Simulator;
export let client: ChatClient;
export let anna: Person;

/** The service with a simulated supplier, and a person who chats. */
export async function openHouse(environment: Record<string, string> = {}): Promise<void> {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url, environment });
  client = new ChatClient(app);
  anna = await client.newPerson();
}

export async function closeHouse(): Promise<void> {
  await app.close();
  await supplier.stop();
}
