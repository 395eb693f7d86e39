import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';
import { ChatClient, type WebChatUser } from './chat-client';

export let app: TestApp;
export let supplier: Simulator;
export let client: ChatClient;
export let anna: WebChatUser;

/** Starts the service with a simulated supplier and one chat user. */
export async function openChatFixture(environment: Record<string, string> = {}): Promise<void> {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url, environment });
  client = new ChatClient(app);
  anna = await client.createUser();
}

export async function closeChatFixture(): Promise<void> {
  await app.close();
  await supplier.stop();
}
