import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { withDeadline } from '../kernel';
import { Database, extensionsClient, Mailer, Metrics, type OutgoingClient, Settings } from '../platform';
import { Extensions } from './extensions';
import { DatabasePorts } from './ports/database-port';
import { createHttpPort } from './ports/http-port';
import { createMailPort } from './ports/mail-port';

const CLOSE_DEADLINE_MS = 5_000;

export interface OpenPorts {
  /** Adds the connection pool metrics of each extension. */
  readonly readInto: (metrics: Metrics) => void;
  close(): Promise<void>;
}

/** Provides the ports that need only the database and the settings; commands use these as well. */
export function provideBasicPorts(extensions: Extensions, database: Database, settings: Settings): OpenPorts {
  const databases = new DatabasePorts(database, settings);
  extensions.providePort('db', databases.portOf);
  const clients: OutgoingClient[] = [];
  extensions.providePort('http.out', () => {
    const client = (clients[0] ??= extensionsClient(settings));
    return createHttpPort(client);
  });
  return {
    readInto: databases.readInto,
    close: async () => {
      for (const client of clients) client.close();
      await databases.close();
    },
  };
}

@Injectable()
export class HostPorts implements OnApplicationShutdown {
  private readonly basicPorts: OpenPorts;

  constructor(
    extensions: Extensions,
    database: Database,
    mailer: Mailer,
    settings: Settings,
    metrics: Metrics,
  ) {
    this.basicPorts = provideBasicPorts(extensions, database, settings);
    metrics.beforeRead(() => this.basicPorts.readInto(metrics));
    extensions.providePort('mail.send', () => createMailPort(mailer));
  }

  /** Waits at most the deadline, so that an open transaction of an extension does not block the shutdown. */
  async onApplicationShutdown(): Promise<void> {
    await withDeadline(CLOSE_DEADLINE_MS, this.basicPorts.close()).catch(() => undefined);
  }
}
