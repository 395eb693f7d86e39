import { join } from 'node:path';
import { Controller, Query, UseGuards } from '@nestjs/common';
import { Outbox, type OutboxMail, Settings } from '../platform';
import { Access, DevelopmentGuard, Page } from '../web';
import { OutboxQuery } from './development.dto';

interface Gallery {
  readonly galleryModel: (baseUrl: string) => object;
}

/** Next to the sources and the compiled files, but not part of a release artefact. */
const gallery = join(__dirname, '..', '..', 'gallery', 'index');
const MAX_LISTED_MAILS = 50;
const linkPattern = /https?:\/\/[^\s<>"]+/g;

/** Development pages, available only in development and from this machine. */
@Controller('/dev')
@UseGuards(DevelopmentGuard)
export class DevelopmentController {
  constructor(
    private readonly outbox: Outbox,
    private readonly settings: Settings,
  ) {}

  @Page('components', 'pages/dev/components', Access.anyone())
  async components() {
    const { galleryModel } = (await import(require.resolve(gallery))) as Gallery;
    return galleryModel(this.settings.baseUrl);
  }

  @Page('outbox', 'pages/dev/outbox', Access.anyone())
  async mails(@Query() query: OutboxQuery) {
    const mails = (await this.outbox.list()).slice(0, MAX_LISTED_MAILS);
    const selected = query.id === undefined ? mails[0] : await this.outbox.read(query.id);
    return {
      mails: mails.map((mail) => ({
        href: `/dev/outbox?id=${mail.id}`,
        subject: mail.subject,
        recipient: mail.to,
        sentAt: mail.at,
        current: mail.id === selected?.id,
      })),
      ...(selected === undefined ? {} : { selected: mailModel(selected) }),
    };
  }
}

const mailModel = (mail: OutboxMail) => ({
  subject: mail.subject,
  recipient: mail.to,
  sentAt: mail.at,
  text: mail.text,
  links: mail.text.match(linkPattern) ?? [],
});
