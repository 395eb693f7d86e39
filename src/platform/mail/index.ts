export { type Mail, mailAddress } from './mail';
export { MailModule } from './mail.module';
export { Mailer } from './mailer';
export { Outbox, type OutboxMail } from './outbox';
