import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ActivityLog, changesOf, systemActor } from '../audit';
import { CatalogueService, ensureSandbox, retireSandbox } from '../catalogue';
import { AccountTokens, Organisation, UserAccount } from '../identity';
import { platformScope } from '../kernel';
import { type IssuedKey, KeyActivity, KeysService } from '../keys';
import { Database, Settings, type Tx } from '../platform';

export interface FirstKeys {
  readonly root: string;
  readonly demo: string;
  readonly signIn: string;
}

/** Key of an advisory lock (arbitrary constant): nodes that start on the same empty database take turns. */
const FIRST_BOOT_LOCK = 5_719_025;

const actor = systemActor('first start');

/**
 * Creates the first owner with a sign-in link, an organisation and two keys in an empty installation, in one
 * transaction.
 */
@Injectable()
export class FirstBoot {
  constructor(
    private readonly database: Database,
    @InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>,
    private readonly keys: KeysService,
    private readonly entries: KeyActivity,
    private readonly activity: ActivityLog,
    private readonly catalogue: CatalogueService,
    private readonly tokens: AccountTokens,
    private readonly settings: Settings,
  ) {}

  async run(sandboxUrl: string | null): Promise<FirstKeys | null> {
    // Skips the transaction on most starts, when the installation is already populated.
    if (sandboxUrl === null && (await this.accounts.exists())) return null;
    const keys = await this.database.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [FIRST_BOOT_LOCK]);
      // The sandbox has a different address on every start.
      if (sandboxUrl !== null) await ensureSandbox(tx, sandboxUrl);
      if (await tx.getRepository(UserAccount).exists()) return null;
      return this.populate(tx);
    });
    await this.catalogue.reload();
    return keys;
  }

  async retireSandbox(): Promise<void> {
    if (await this.database.transaction((tx) => retireSandbox(tx))) await this.catalogue.reload();
  }

  private async populate(tx: Tx): Promise<FirstKeys> {
    const organisation = tx.getRepository(Organisation).create({ name: 'First organisation', slug: 'first' });
    await tx.getRepository(Organisation).insert(organisation);
    const owner = tx.getRepository(UserAccount).create({
      email: this.settings.bootstrapOwnerEmail,
      displayName: 'Owner',
      role: 'platform_owner',
      status: 'active',
      organisationId: organisation.id,
      // The operator's own account is exempt from payment.
      billingExempt: true,
    });
    await tx.getRepository(UserAccount).insert(owner);
    const keyDefaults = { createdBy: 'first boot', departmentId: null, projectId: null };
    const root = await this.keys.issue(platformScope, tx, {
      ...keyDefaults,
      kind: 'root',
      name: 'Root admin key',
      userId: null,
      organisationId: null,
    });
    const demo = await this.keys.issue(platformScope, tx, {
      ...keyDefaults,
      kind: 'client',
      name: 'Demo key',
      userId: owner.id,
      organisationId: organisation.id,
    });
    const signIn = await this.tokens.issue(tx, 'sign_in_link', { userId: owner.id });
    await this.record(tx, organisation, owner, root);
    await this.entries.recordCreated(tx, demo, actor);
    return { root: root.text, demo: demo.text, signIn };
  }
  private async record(
    tx: Tx,
    organisation: Organisation,
    owner: UserAccount,
    root: IssuedKey,
  ): Promise<void> {
    await this.activity.write(tx, {
      action: 'organisation.created',
      object: { type: 'organisation', id: organisation.id, label: organisation.name },
      concerns: { organisationId: organisation.id },
      actor,
    });
    const account = {
      object: { type: 'account', id: owner.id, label: owner.email },
      concerns: { userId: owner.id, organisationId: organisation.id },
      actor,
    } as const;
    await this.activity.write(tx, {
      ...account,
      action: 'account.registered',
      changes: changesOf(null, { role: owner.role }),
    });
    await this.activity.write(tx, { ...account, action: 'account.sign-in-link-made' });
    await this.activity.write(tx, {
      action: 'key.created',
      object: { type: 'key', id: root.id, label: 'Root admin key' },
      actor,
    });
  }
}
