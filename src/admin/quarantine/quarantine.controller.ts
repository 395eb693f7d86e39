import { Body, Controller, Req } from '@nestjs/common';
import { fault, platformScope } from '../../kernel';
import { KeyActivity, KeyRegister, KeysService } from '../../keys';
import { Database } from '../../platform';
import { type QuarantineDetails, Quarantine, QUARANTINE_PATH } from '../../quarantine';
import {
  Access,
  Action,
  done,
  type ActionResult,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
} from '../../web';
import type { ObjectPageModel } from '../pages/object-page';
import { quarantinePage } from './quarantine-page';
import { decisionsOf, KeyForm, ReleaseForm } from './quarantine.dto';

const MAX_KEYS = 100;
const owner = Access.role('platform_owner');

@Controller()
export class QuarantineController {
  constructor(
    private readonly quarantine: Quarantine,
    private readonly register: KeyRegister,
    private readonly keys: KeysService,
    private readonly entries: KeyActivity,
    private readonly database: Database,
    private readonly pages: PageRenderer,
  ) {}

  @Page(QUARANTINE_PATH, 'pages/admin/object', owner)
  async show(@Req() request: HttpRequest): Promise<ObjectPageModel> {
    const [between, keys] = await Promise.all([
      this.between(),
      this.register.list(platformScope, {
        limit: MAX_KEYS,
        cursor: null,
        kind: 'client',
        status: 'active',
      }),
    ]);
    return quarantinePage({ between, keys }, localisationOf(this.pages, request));
  }

  @Action(`${QUARANTINE_PATH}/look`, owner, { audit: { none: 'it only looks at what others have' } })
  async recheck(): Promise<ActionResult> {
    await this.quarantine.collectFindings();
    return done(QUARANTINE_PATH, { ok: true }, 'quarantine.looked-again');
  }

  /** Revokes a key that was already revoked after the restored moment, or that no user recognises. */
  @Action(`${QUARANTINE_PATH}/revoke-key`, owner, { audit: 'key.revoked' })
  async revokeKey(@Body() { key }: KeyForm): Promise<ActionResult> {
    await this.requireOpenQuarantine();
    await this.database.transaction((tx) =>
      this.entries.recordChange(tx, key, () => this.keys.revoke(platformScope, tx, key)),
    );
    return done(QUARANTINE_PATH, { ok: true, key }, 'quarantine.key-revoked', { key });
  }

  @Action(`${QUARANTINE_PATH}/release`, owner, { audit: 'quarantine.decided' })
  async release(@Body() form: ReleaseForm): Promise<ActionResult> {
    await this.quarantine.store.recordDecisions(await this.requireOpenQuarantine(), decisionsOf(form));
    await this.quarantine.applyDecisions();
    return done('/dashboard/admin', { ok: true }, 'quarantine.is-released');
  }

  private async requireOpenQuarantine(): Promise<QuarantineDetails> {
    const between = await this.between();
    if (between.row.releasedAt !== null)
      throw fault('conflict', { message: 'The quarantine is over.', details: { reason: 'released' } });
    return between;
  }

  private async between(): Promise<QuarantineDetails> {
    const row = await this.quarantine.store.latest();
    if (row === undefined)
      throw fault('not_found', { message: 'This installation was never restored from a backup.' });
    return this.quarantine.store.details(row);
  }
}
