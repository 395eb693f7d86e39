import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit';
import { QueueModule } from '../../platform';
import { ViewsModule } from '../../views';
import { WebModule } from '../../web';
import { accountMailQueue, AccountMails, AccountMailWorker } from './account-mails';
import { AccountNotices } from './account-notices';
import { FormAnswers } from './form-answers';
import { PasswordResetController } from './password-reset.controller';
import { PasswordStrategy } from './password-strategy';
import { RegistrationController } from './registration.controller';
import { SignInController } from './sign-in.controller';
import { Visitor } from './visitor';

@Module({
  imports: [AuditModule, WebModule, ViewsModule, QueueModule.registerQueue(accountMailQueue)],
  controllers: [SignInController, RegistrationController, PasswordResetController],
  providers: [AccountMails, AccountMailWorker, AccountNotices, FormAnswers, PasswordStrategy, Visitor],
})
export class AccountModule {}
