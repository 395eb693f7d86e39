import { Body, Controller, Req } from '@nestjs/common';
import { fault, platformScope } from '../../kernel';
import { KeyEntries, KeyRegister, KeysService } from '../../keys';
import { Database } from '../../platform';
import { type Between, Quarantine, QUARANTINE_PATH } from '../../quarantine';
import {
  Access,
  Action,
  done,
  type Done,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
} from '../../web';
import type { ObjectPageModel } from '../pages/object-page';
import { quarantinePage } from './quarantine-page';
import { decisionsIn, KeyForm, ReleaseForm } from './quarantine.form';

const KEYS_SHOWN = 100;
const owner = Access.role('platform_owner');

/** What lies between the moment that an installation was restored to and the present, and what becomes of it. */
@Controller()
export class QuarantineController {
  constructor(
    private readonly quarantine: Quarantine,
    private readonly register: KeyRegister,
    private readonly keys: KeysService,
    private readonly entries: KeyEntries,
    private readonly database: Database,
    private readonly pages: PageRenderer,
  ) {}

  @Page(QUARANTINE_PATH, 'pages/admin/object', owner)
  async show(@Req() request: HttpRequest): Promise<ObjectPageModel> {
    const [between, keys] = await Promise.all([
      this.between(),
      this.register.list(platformScope, {
        limit: KEYS_SHOWN,
        cursor: null,
        kind: 'client',
        status: 'active',
      }),
    ]);
    return quarantinePage({ between, keys }, localisationOf(this.pages, request));
  }

  @Action(`${QUARANTINE_PATH}/look`, owner, { audit: { none: 'it only looks at what others have' } })
  async look(): Promise<Done> {
    await this.quarantine.look();
    return done(QUARANTINE_PATH, { ok: true }, 'quarantine.looked-again');
  }

  /** Good for this key alone: it was revoked after the moment, or nobody knows it. */
  @Action(`${QUARANTINE_PATH}/revoke-key`, owner, { audit: 'key.revoked' })
  async revokeKey(@Body() { key }: KeyForm): Promise<Done> {
    await this.openOne();
    await this.database.transaction((tx) =>
      this.entries.changing(tx, key, () => this.keys.revoke(platformScope, tx, key)),
    );
    return done(QUARANTINE_PATH, { ok: true, key }, 'quarantine.key-revoked', { key });
  }

  @Action(`${QUARANTINE_PATH}/release`, owner, { audit: 'quarantine.decided' })
  async release(@Body() form: ReleaseForm): Promise<Done> {
    await this.quarantine.book.decide(await this.openOne(), decisionsIn(form));
    await this.quarantine.carryOut();
    return done('/dashboard/admin', { ok: true }, 'quarantine.is-released');
  }

  private async openOne(): Promise<Between> {
    const between = await this.between();
    if (between.row.releasedAt !== null)
      throw fault('conflict', { message: 'The quarantine is over.', details: { reason: 'released' } });
    return between;
  }

  private async between(): Promise<Between> {
    const row = await this.quarantine.book.latest();
    if (row === undefined)
      throw fault('not_found', { message: 'This installation was never restored from a backup.' });
    return this.quarantine.book.between(row);
  }
}
