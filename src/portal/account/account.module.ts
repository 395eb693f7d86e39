import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit';
import { BillingModule } from '../../billing';
import { ChatModule } from '../../chat';
import { OutgoingModule, QueueModule } from '../../platform';
import { ViewsModule } from '../../views';
import { WebModule } from '../../web';
import { accountMailQueue, AccountMails, AccountMailWorker } from './account-mails';
import { AccountNotices } from './account-notices';
import { AddressController } from './address.controller';
import { Directories } from './directories';
import { SignInFlow } from './sign-in-flow';
import { FormResponder } from './form-responder';
import { PasswordResetController } from './password-reset.controller';
import { DirectoryStrategy } from './directory.strategy';
import { LocalStrategy } from './local.strategy';
import { PasskeySignIn } from './passkeys/passkey-sign-in';
import { PasskeysController } from './passkeys/passkeys.controller';
import { PersonalData } from './personal-data';
import { PersonalDataController } from './personal-data.controller';
import { RegistrationController } from './registration.controller';
import { SecondFactorController } from './second-factor.controller';
import { SettingsModel } from './settings-model';
import { SettingsController } from './settings.controller';
import { SignInModel } from './sign-in-model';
import { SignUpModel } from './sign-up-model';
import { SignInController } from './sign-in.controller';
import { PublicModule } from '../public/public.module';
import { LegalAcceptanceController } from './legal-acceptance.controller';
import { AcceptedTerms } from './providers/accepted-terms';
import { HandOffController } from './providers/hand-off.controller';
import { IdentityLinks } from './providers/identity-links';
import { ProviderLinksController } from './providers/provider-links.controller';
import { ProviderStates } from './providers/provider-states';
import { Idp1Strategy, Idp2Strategy } from './providers/identity-provider.strategy';
import { IdentityProviderRegistry } from './providers/identity-provider-registry';
import { ProviderSignInController } from './providers/provider-sign-in.controller';
import { AccountStatusController } from './account-status.controller';
import { TelemetryContentController } from './telemetry-content.controller';
import { VisitorSession } from './visitor-session';

@Module({
  imports: [
    AuditModule,
    BillingModule,
    ChatModule,
    PublicModule,
    WebModule,
    ViewsModule,
    OutgoingModule,
    QueueModule.registerQueue(accountMailQueue),
  ],
  controllers: [
    SignInController,
    RegistrationController,
    PasswordResetController,
    ProviderSignInController,
    HandOffController,
    ProviderLinksController,
    LegalAcceptanceController,
    AccountStatusController,
    SettingsController,
    AddressController,
    PersonalDataController,
    SecondFactorController,
    PasskeysController,
    TelemetryContentController,
  ],
  providers: [
    AccountMails,
    AccountMailWorker,
    AccountNotices,
    Directories,
    SignInFlow,
    FormResponder,
    IdentityLinks,
    PersonalData,
    SettingsModel,
    SignInModel,
    SignUpModel,
    PasskeySignIn,
    LocalStrategy,
    DirectoryStrategy,
    VisitorSession,
    AcceptedTerms,
    ProviderStates,
    IdentityProviderRegistry,
    Idp1Strategy,
    Idp2Strategy,
  ],
  exports: [AccountMails],
})
export class AccountModule {}
