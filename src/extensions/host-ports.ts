import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { withDeadline } from '../kernel';
import { Database, extensionsClient, Mailer, Metrics, type OutgoingClient, Settings } from '../platform';
import { Extensions } from './extensions';
import { DatabasePorts } from './ports/database-port';
import { httpPort } from './ports/http-port';
import { mailPort } from './ports/mail-port';

const CLOSE_DEADLINE_MS = 5_000;

export interface OpenPorts {
  /** How busy the connections of each extension are. */
  readonly readInto: (metrics: Metrics) => void;
  close(): Promise<void>;
}

/** The ports that stand on a database and on settings alone, as a command has them too. */
export function givePlainPorts(extensions: Extensions, database: Database, settings: Settings): OpenPorts {
  const databases = new DatabasePorts(database, settings);
  extensions.givePort('db', databases.portOf);
  const clients: OutgoingClient[] = [];
  extensions.givePort('http.out', () => {
    const client = (clients[0] ??= extensionsClient(settings));
    return httpPort(client);
  });
  return {
    readInto: databases.readInto,
    close: async () => {
      for (const client of clients) client.close();
      await databases.close();
    },
  };
}

/** Gives extensions what the platform has. Other rooms give what is theirs. */
@Injectable()
export class HostPorts implements OnApplicationShutdown {
  private readonly plain: OpenPorts;

  constructor(
    extensions: Extensions,
    database: Database,
    mailer: Mailer,
    settings: Settings,
    metrics: Metrics,
  ) {
    this.plain = givePlainPorts(extensions, database, settings);
    metrics.beforeRead(() => this.plain.readInto(metrics));
    extensions.givePort('mail.send', () => mailPort(mailer));
  }

  /** A transaction that an extension still holds does not hold up the end. */
  async onApplicationShutdown(): Promise<void> {
    await withDeadline(CLOSE_DEADLINE_MS, this.plain.close()).catch(() => undefined);
  }
}
