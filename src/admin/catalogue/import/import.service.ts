import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../../audit';
import {
  type FileFault,
  FileFaults,
  GatewayFilePlanner,
  gatewayText,
  type PlanRow,
  type PriceListPlan,
  PriceListPlanner,
  proxyNamesIn,
  readCurrent,
  readGatewayText,
  readPriceList,
  writePlanEntries,
} from '../../../catalogue';
import { Fault, fault } from '../../../kernel';
import { keyFields } from '../../../keys';
import { AddressGuard, Database, Settings, type Tx } from '../../../platform';
import { SupplierStyles } from '../../../routing';
import type { ImportDraft } from './import-drafts.service';

export interface ImportPlan {
  readonly rows: readonly PlanRow[];
  readonly untouched: readonly string[];
  /** In the catalogue but no longer in the list. */
  readonly gone: readonly string[];
  /** Changed in the list but left alone by the import. */
  readonly kept: readonly string[];
  readonly refused: readonly string[];
  readonly warnings: readonly string[];
  readonly faults: readonly FileFault[];
  readonly fingerprint: string;
}

export interface ImportApproval {
  readonly userId: number;
  readonly shown: string;
  /** Defaults to all rows. */
  readonly chosen?: ReadonlySet<string>;
}

const fileOptions = { file: 'the import', prune: false, once: true } as const;
const emptyPlan: ImportPlan = {
  rows: [],
  untouched: [],
  gone: [],
  kept: [],
  refused: [],
  warnings: [],
  faults: [],
  fingerprint: '',
};

@Injectable()
export class ImportService {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly guard: AddressGuard,
    private readonly styles: SupplierStyles,
    private readonly files: GatewayFilePlanner,
    private readonly lists: PriceListPlanner,
    private readonly settings: Settings,
  ) {}

  findFaults({ format, content }: Pick<ImportDraft, 'format' | 'content'>): readonly FileFault[] {
    if (format === 'gateway-yaml') return this.parseFile(content).faults;
    parseList(format, content);
    return [];
  }

  async plan(draft: ImportDraft): Promise<ImportPlan> {
    const { format, content } = draft;
    try {
      if (format !== 'gateway-yaml') {
        const options = listOptions(draft, format);
        return planOfList(await this.lists.plan(parseList(format, content), options));
      }
      const plan = await this.files.plan(this.parseFile(content), fileOptions);
      return { ...emptyPlan, ...plan, gone: [] };
    } catch (error) {
      if (error instanceof FileFaults) return { ...emptyPlan, faults: error.faults };
      if (error instanceof Fault && error.status < 500)
        return { ...emptyPlan, faults: [{ path: '', line: 0, problem: error.humanMessage }] };
      throw error;
    }
  }

  /** Applies all chosen rows or none, and returns the number of changes. */
  async apply(draft: ImportDraft, { userId, shown, chosen }: ImportApproval): Promise<number> {
    const { format, content } = draft;
    let count = 0;
    const approval = {
      actor: `user ${userId}`,
      shown,
      chosen,
      record: async (tx: Tx, rows: readonly PlanRow[]) => {
        count = rows.length;
        await this.record(tx, rows);
      },
    };
    if (format === 'gateway-yaml') {
      const options = { ...fileOptions, ...approval };
      await this.files.apply(this.parseFile(content), options).catch(rethrowAsConflict);
    } else {
      const options = { ...listOptions(draft, format), ...approval };
      await this.lists.apply(parseList(format, content), options);
    }
    return count;
  }

  async export(): Promise<string> {
    return gatewayText(await readCurrent(this.database.source.manager));
  }

  private async record(tx: Tx, rows: readonly PlanRow[]): Promise<void> {
    if (rows.length === 0) this.activity.reportNoChange();
    await writePlanEntries(this.activity, tx, rows);
  }

  private parseFile(content: string): ReturnType<typeof readGatewayText> {
    return readGatewayText(content, null, {
      guard: this.guard,
      proxyNames: proxyNamesIn(this.settings),
      styles: this.styles,
      keyFields,
    });
  }
}

type ListFormat = Exclude<ImportDraft['format'], 'gateway-yaml'>;

function parseList(format: ListFormat, content: string): ReturnType<typeof readPriceList> {
  try {
    return readPriceList(format, content);
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError || error instanceof TypeError))
      throw error;
    throw fault('validation_error', {
      param: 'content',
      message: `This is no ${format} file: ${error.message}`,
    });
  }
}

const listOptions = ({ options }: ImportDraft, format: ListFormat) => ({
  format,
  providers: options.providers,
  only: options.only.length === 0 ? undefined : new Set(options.only),
  overwrite: options.overwrite,
});

const planOfList = ({ unknownKeys, ...plan }: PriceListPlan): ImportPlan => ({
  ...emptyPlan,
  ...plan,
  warnings: [...Map.groupBy(unknownKeys, ({ key }) => key)].map(([key, on]) => `${key} (${on.length})`),
});

function rethrowAsConflict(error: unknown): never {
  if (!(error instanceof FileFaults)) throw error;
  const [first] = error.faults;
  throw fault('conflict', {
    message: `${first?.path ?? ''}: ${first?.problem ?? ''}. Nothing was applied.`,
    details: { faults: error.faults.map(({ path, line, problem }) => ({ path, line, problem })) },
  });
}
