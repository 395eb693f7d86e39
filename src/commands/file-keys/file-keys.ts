import { Injectable } from '@nestjs/common';
import {
  changesBetween,
  type FutureModels,
  type DesiredKey,
  type FieldChange,
  type FileFault,
  type KeyPlanner,
  NO_TEXTS,
  type Step,
  type Steps,
} from '../../catalogue';
import { platformScope } from '../../kernel';
import {
  type IssuedKey,
  type KeyChanges,
  KeyActivity,
  keyFields,
  KeyRegister,
  KeysService,
  type ManagedKey,
} from '../../keys';
import type { Tx } from '../../platform';
import { commandActor, COMMAND_LINE } from '../command';
import { readLimits } from './key-limits';
import { isOwnedBy, type KeyOwner, InvalidTextError, findOwner } from './key-owners';
import { type KeyState, keyTexts, stateOfForm, stateOfKey } from './key-state';

export interface IssuedFileKey {
  readonly name: string;
  readonly text: string;
}

interface ExistingKeys {
  readonly byName: ReadonlyMap<string, ManagedKey>;
  readonly byId: ReadonlyMap<string, ManagedKey>;
}

const NO_POSITION = { path: '', line: 1 };

/** Creates and changes the keys of a gateway file, and revokes those that the file manages and no longer lists. */
@Injectable()
export class FileKeys implements KeyPlanner {
  /** Keys that the latest plan has issued. */
  fresh: IssuedFileKey[] = [];

  constructor(
    private readonly register: KeyRegister,
    private readonly keys: KeysService,
    private readonly entries: KeyActivity,
  ) {}

  async plan(
    tx: Tx,
    { keys: desired, managesKeys }: Parameters<KeyPlanner['plan']>[1],
    models: FutureModels,
    faults: FileFault[],
  ): Promise<Steps> {
    this.fresh = [];
    const existingKeys = await this.register.listFileKeys(
      desired.flatMap(({ id }) => id?.text ?? []),
      tx,
    );
    const existing: ExistingKeys = {
      byName: new Map(existingKeys.flatMap((key) => (key.fileName === null ? [] : [[key.fileName, key]]))),
      byId: new Map(existingKeys.map((key) => [key.publicId, key])),
    };
    const planned: Planned = { steps: [], warnings: [] };
    for (const desiredKey of desired) {
      try {
        await this.planOne(tx, desiredKey, keyFor(desiredKey, existing), { models, faults, planned });
      } catch (error) {
        if (!(error instanceof InvalidTextError)) throw error;
        faults.push(faultOf(error));
      }
    }
    const listed = new Set(desired.map(({ name }) => name));
    const removedKeys = managesKeys ? [...existing.byName].filter(([name]) => !listed.has(name)) : [];
    return { ...planned, gone: removedKeys.flatMap(([name, key]) => this.removalSteps(name, key)) };
  }

  private async planOne(
    tx: Tx,
    desiredKey: DesiredKey,
    existing: ManagedKey | undefined,
    { models, faults, planned }: KeyPlanContext,
  ): Promise<void> {
    if (existing?.status === 'revoked') {
      planned.warnings.push(
        `key ${desiredKey.name} was revoked and is not made again: take it out, or give the new one another name`,
      );
      return;
    }
    const { form, faults: limitFaults } = readLimits(desiredKey, models, existing);
    faults.push(...limitFaults.map(faultOf));
    const owner = await findOwner(tx, desiredKey);
    if (owner === null && existing === undefined)
      throw new InvalidTextError(
        desiredKey.at,
        'says not whose it is: user, organisation, department or project',
      );
    if (existing !== undefined && owner !== null && !isOwnedBy(existing, owner, desiredKey))
      throw new InvalidTextError(
        desiredKey.at,
        'has another owner, and a key stays with its own: name a new key for a new owner',
      );
    if (form === null) return;
    const state = stateOfForm(form, resolveStatus(desiredKey, existing, planned.warnings));
    if (existing === undefined) {
      if (owner !== null) planned.steps.push(this.newStep(desiredKey, state, owner));
    } else planned.steps.push(...this.changeStep(desiredKey, state, existing));
  }

  private newStep({ at, name }: DesiredKey, state: KeyState, { label, ...owner }: KeyOwner): Step {
    return {
      at,
      kind: 'key',
      name,
      mark: 'new',
      changes: [{ field: 'owner', before: null, after: label }, ...changesBetween(NO_TEXTS, keyTexts(state))],
      needs: [],
      run: async (tx) => {
        const issued = await this.issue(tx, name, state, owner);
        await this.entries.recordCreated(tx, issued, commandActor);
        this.fresh.push({ name, text: issued.text });
      },
    };
  }

  private async issue(
    tx: Tx,
    fileName: string,
    state: KeyState,
    owner: Omit<KeyOwner, 'label'>,
  ): Promise<IssuedKey> {
    const issued = await this.keys.issue(platformScope, tx, {
      ...owner,
      ...state,
      fileName,
      kind: 'client',
      createdBy: COMMAND_LINE,
      regionsAsList: true,
    });
    if (state.status === 'disabled')
      await this.keys.change(platformScope, tx, issued.publicId, { status: 'disabled' });
    return issued;
  }

  private changeStep({ at, name }: DesiredKey, state: KeyState, existing: ManagedKey): Step[] {
    const adoption: FieldChange[] =
      existing.fileName === name ? [] : [{ field: 'kept as', before: existing.fileName, after: name }];
    const changes = [...changesBetween(keyTexts(stateOfKey(existing)), keyTexts(state)), ...adoption];
    if (changes.length === 0) return [];
    const keyChanges: KeyChanges = {
      ...changesTo(state, existing, new Set(changes.map(({ field }) => field))),
      ...(adoption.length === 0 ? {} : { fileName: name }),
    };
    const change = (tx: Tx): Promise<void> =>
      this.keys.change(platformScope, tx, existing.publicId, keyChanges);
    return [
      {
        at,
        kind: 'key',
        name,
        mark: 'changed',
        changes,
        needs: [],
        run: (tx) => this.entries.recordChange(tx, existing.publicId, () => change(tx), commandActor),
      },
    ];
  }

  private removalSteps(name: string, { publicId, status }: ManagedKey): Step[] {
    if (status === 'revoked') return [];
    const revoke = async (tx: Tx): Promise<void> => {
      await this.keys.change(platformScope, tx, publicId, { fileName: null });
      await this.keys.revoke(platformScope, tx, publicId);
    };
    return [
      {
        at: NO_POSITION,
        kind: 'key',
        name,
        mark: 'gone',
        changes: [{ field: 'status', before: status, after: 'revoked' }],
        needs: [],
        run: (tx) => this.entries.recordChange(tx, publicId, () => revoke(tx), commandActor),
      },
    ];
  }
}

interface Planned {
  readonly steps: Step[];
  readonly warnings: string[];
}

interface KeyPlanContext {
  readonly models: FutureModels;
  readonly faults: FileFault[];
  readonly planned: Planned;
}

const faultOf = ({ at: { path, line }, message: problem }: InvalidTextError): FileFault => ({
  path,
  line,
  problem,
});

function keyFor({ name, id }: DesiredKey, { byName, byId }: ExistingKeys): ManagedKey | undefined {
  const keyByName = byName.get(name);
  if (id === undefined) return keyByName;
  const keyById = byId.get(id.text);
  if (keyById === undefined)
    throw new InvalidTextError(id.at, `there is no key "${id.text}": without an id, a new one is made`);
  if (keyByName !== undefined && keyByName !== keyById)
    throw new InvalidTextError(id.at, `the file's name "${name}" stands for the key ${keyByName.publicId}`);
  return keyById;
}

/** An omitted status stays unchanged, and no file resumes a key that an administrator paused. */
function resolveStatus(
  { name, status }: DesiredKey,
  existing: ManagedKey | undefined,
  warnings: string[],
): KeyState['status'] {
  const current = existing?.status === 'disabled' ? 'disabled' : 'active';
  if (status === 'active' && existing !== undefined && existing.pause !== null) {
    warnings.push(`key ${name} was paused by an administrator: it is resumed on its page`);
    return current;
  }
  return status ?? current;
}

/** Returns only the differences: setting an equal budget again would be reported as a change. */
function changesTo(state: KeyState, existing: ManagedKey, fields: ReadonlySet<string>): KeyChanges {
  const changed = keyFields.changedValues('file', existing, state);
  return {
    ...changed,
    ...(changed.allowedRegions === undefined ? {} : { regionsAsList: true }),
    ...(fields.has('status') ? { status: state.status } : {}),
    ...(fields.has('budget') ? budgetIn(state) : {}),
    ...([...fields].some((field) => field.startsWith('budget of '))
      ? { modelBudgets: state.modelBudgets }
      : {}),
  };
}

const budgetIn = ({ budget }: KeyState): KeyChanges =>
  budget === null ? { budgetLimit: null } : { budgetLimit: budget.limit, budgetPeriod: budget.period };
