import { Limits } from '../../billing';
import {
  changesBetween,
  type ComingModels,
  type DesiredKey,
  type FieldChange,
  type FileFault,
  type KeyPlanner,
  noTexts,
  type Step,
  type Steps,
} from '../../catalogue';
import { platformScope } from '../../kernel';
import {
  type IssuedKey,
  type KeyChanges,
  type KeyEntries,
  keyFields,
  KeyRegister,
  KeysService,
  type ManagedKey,
} from '../../keys';
import type { Database, Settings, Tx } from '../../platform';
import { COMMAND_LINE } from '../command';
import { commandActor, keyEntriesOf } from '../key-entries';
import { limitsIn } from './key-limits';
import { isOwnedBy, type KeyOwner, MisplacedText, ownerIn } from './key-owners';
import { type KeyState, keyTexts, stateOfForm, stateOfKey } from './key-state';

/** A key that an apply made: its secret is shown this once. */
export interface FreshKey {
  readonly name: string;
  readonly text: string;
}

interface KnownKeys {
  readonly byName: ReadonlyMap<string, ManagedKey>;
  readonly byId: ReadonlyMap<string, ManagedKey>;
}

const nowhere = { path: '', line: 1 };

/** The keys of a gateway file: made, changed, and revoked where the file manages keys and lists them no longer. */
export class FileKeys implements KeyPlanner {
  readonly fresh: FreshKey[] = [];
  private readonly register: KeyRegister;
  private readonly keys: KeysService;
  private readonly entries: KeyEntries;

  constructor(database: Database, settings: Settings) {
    const limits = new Limits(database);
    this.register = new KeyRegister(database, limits);
    this.keys = new KeysService(settings, limits);
    this.entries = keyEntriesOf(database);
  }

  async plan(
    tx: Tx,
    { keys: desired, managesKeys }: Parameters<KeyPlanner['plan']>[1],
    models: ComingModels,
    faults: FileFault[],
  ): Promise<Steps> {
    const found = await this.register.ofFiles(
      desired.flatMap(({ id }) => id?.text ?? []),
      tx,
    );
    const known: KnownKeys = {
      byName: new Map(found.flatMap((key) => (key.fileName === null ? [] : [[key.fileName, key]]))),
      byId: new Map(found.map((key) => [key.publicId, key])),
    };
    const planned: Planned = { steps: [], warnings: [] };
    for (const wanted of desired) {
      try {
        await this.planOne(tx, wanted, keyFor(wanted, known), { models, faults, planned });
      } catch (error) {
        if (!(error instanceof MisplacedText)) throw error;
        faults.push(faultOf(error));
      }
    }
    const listed = new Set(desired.map(({ name }) => name));
    const gone = managesKeys ? [...known.byName].filter(([name]) => !listed.has(name)) : [];
    return { ...planned, gone: gone.flatMap(([name, key]) => this.goneStep(name, key)) };
  }

  private async planOne(
    tx: Tx,
    wanted: DesiredKey,
    known: ManagedKey | undefined,
    { models, faults, planned }: KeyPlanContext,
  ): Promise<void> {
    if (known?.status === 'revoked') {
      planned.warnings.push(
        `key ${wanted.name} was revoked and is not made again: take it out, or give the new one another name`,
      );
      return;
    }
    const { form, faults: wrong } = limitsIn(wanted, models, known);
    faults.push(...wrong.map(faultOf));
    const owner = await ownerIn(tx, wanted);
    if (owner === null && known === undefined)
      throw new MisplacedText(wanted.at, 'says not whose it is: user, organisation, department or project');
    if (known !== undefined && owner !== null && !isOwnedBy(known, owner, wanted))
      throw new MisplacedText(
        wanted.at,
        'has another owner, and a key stays with its own: name a new key for a new owner',
      );
    if (form === null) return;
    const state = stateOfForm(form, statusIn(wanted, known, planned.warnings));
    if (known === undefined) {
      if (owner !== null) planned.steps.push(this.newStep(wanted, state, owner));
    } else planned.steps.push(...this.changeStep(wanted, state, known));
  }

  private newStep({ at, name }: DesiredKey, state: KeyState, { label, ...owner }: KeyOwner): Step {
    return {
      at,
      kind: 'key',
      name,
      mark: 'new',
      changes: [{ field: 'owner', before: null, after: label }, ...changesBetween(noTexts, keyTexts(state))],
      needs: [],
      run: async (tx) => {
        const issued = await this.issue(tx, name, state, owner);
        await this.entries.created(tx, issued, commandActor);
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

  private changeStep({ at, name }: DesiredKey, state: KeyState, known: ManagedKey): Step[] {
    const adopted: FieldChange[] =
      known.fileName === name ? [] : [{ field: 'kept as', before: known.fileName, after: name }];
    const changes = [...changesBetween(keyTexts(stateOfKey(known)), keyTexts(state)), ...adopted];
    if (changes.length === 0) return [];
    const wanted: KeyChanges = {
      ...changesTo(state, known, new Set(changes.map(({ field }) => field))),
      ...(adopted.length === 0 ? {} : { fileName: name }),
    };
    const change = (tx: Tx): Promise<void> => this.keys.change(platformScope, tx, known.publicId, wanted);
    return [
      {
        at,
        kind: 'key',
        name,
        mark: 'changed',
        changes,
        needs: [],
        run: (tx) => this.entries.changing(tx, known.publicId, () => change(tx), commandActor),
      },
    ];
  }

  private goneStep(name: string, { publicId, status }: ManagedKey): Step[] {
    if (status === 'revoked') return [];
    const revoke = async (tx: Tx): Promise<void> => {
      await this.keys.change(platformScope, tx, publicId, { fileName: null });
      await this.keys.revoke(platformScope, tx, publicId);
    };
    return [
      {
        at: nowhere,
        kind: 'key',
        name,
        mark: 'gone',
        changes: [{ field: 'status', before: status, after: 'revoked' }],
        needs: [],
        run: (tx) => this.entries.changing(tx, publicId, () => revoke(tx), commandActor),
      },
    ];
  }
}

interface Planned {
  readonly steps: Step[];
  readonly warnings: string[];
}

interface KeyPlanContext {
  readonly models: ComingModels;
  readonly faults: FileFault[];
  readonly planned: Planned;
}

const faultOf = ({ at: { path, line }, message: problem }: MisplacedText): FileFault => ({
  path,
  line,
  problem,
});

/** A key is found by its name in the file; one that no file keeps yet is found by its public id. */
function keyFor({ name, id }: DesiredKey, { byName, byId }: KnownKeys): ManagedKey | undefined {
  const named = byName.get(name);
  if (id === undefined) return named;
  const identified = byId.get(id.text);
  if (identified === undefined)
    throw new MisplacedText(id.at, `there is no key "${id.text}": without an id, a new one is made`);
  if (named !== undefined && named !== identified)
    throw new MisplacedText(id.at, `the file's name "${name}" stands for the key ${named.publicId}`);
  return identified;
}

/** Left out, a status is left alone; and no file resumes what an administrator paused. */
function statusIn(
  { name, status }: DesiredKey,
  known: ManagedKey | undefined,
  warnings: string[],
): KeyState['status'] {
  const current = known?.status === 'disabled' ? 'disabled' : 'active';
  if (status === 'active' && known !== undefined && known.pause !== null) {
    warnings.push(`key ${name} was paused by an administrator: it is resumed on its page`);
    return current;
  }
  return status ?? current;
}

/** It returns only what differs: a budget that is set anew would be told as a change. */
function changesTo(state: KeyState, known: ManagedKey, fields: ReadonlySet<string>): KeyChanges {
  const changed = keyFields.changed('file', known, state);
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
