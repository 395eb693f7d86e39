import { type DynamicModule, Module } from '@nestjs/common';
import type { Settings } from '../platform';
import { servesDeveloperPages, WebModule } from '../web';
import { AccountModule } from './account/account.module';
import { ActivityModule } from './activity/activity.module';
import { BillingPagesModule } from './billing/billing.module';
import { DevelopmentController } from './development.controller';
import { FrameModule } from './frame/frame.module';
import { KeyPagesModule } from './keys/keys.module';
import { LanguageController } from './language.controller';
import { ModelPagesModule } from './models/models.module';
import { OverviewModule } from './overview/overview.module';
import { EnginePagesModule } from './engines/engines.module';
import { PublicModule } from './public/public.module';
import { RequestLogModule } from './request-log/request-log.module';
import { UsageModule } from './usage/usage.module';
import { HelpModule } from './help/help.module';
import { NoticesModule } from './notices/notices.module';
import { ResellerModule } from './reseller/reseller.module';
import { WebchatModule } from './webchat/webchat.module';

@Module({})
export class PortalModule {
  static forRoot(settings: Settings): DynamicModule {
    const development = servesDeveloperPages(settings) ? [DevelopmentController] : [];
    return {
      module: PortalModule,
      imports: [
        WebModule,
        PublicModule,
        AccountModule,
        FrameModule,
        ActivityModule,
        BillingPagesModule,
        KeyPagesModule,
        UsageModule,
        RequestLogModule,
        OverviewModule,
        ModelPagesModule,
        HelpModule,
        NoticesModule,
        EnginePagesModule,
        WebchatModule,
        ResellerModule,
      ],
      controllers: [LanguageController, ...development],
    };
  }
}
