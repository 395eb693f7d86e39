import { type DynamicModule, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Settings } from '../config';
import { QueueModule } from '../queue';
import { MailTransport } from './mail-transport';
import { Mailer, mailQueue, MailWorker } from './mailer';
import { Outbox } from './outbox';

@Module({})
export class MailModule implements OnApplicationShutdown {
  constructor(private readonly transport: MailTransport) {}

  static forRoot(): DynamicModule {
    return {
      module: MailModule,
      global: true,
      imports: [QueueModule.registerQueue(mailQueue)],
      providers: [
        {
          provide: Outbox,
          inject: [Settings],
          useFactory: (settings: Settings) => new Outbox(settings.dataFolder),
        },
        {
          provide: MailTransport,
          inject: [Settings, Outbox],
          useFactory: (settings: Settings, outbox: Outbox) => new MailTransport(settings, outbox),
        },
        Mailer,
        MailWorker,
      ],
      exports: [Mailer, Outbox],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.transport.close();
  }
}
