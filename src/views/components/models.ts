/** The plain objects that partials take. One interface a partial, named after it. */
export type Tone = 'neutral' | 'ok' | 'warn' | 'bad' | 'info';

export interface Link {
  label: string;
  href: string;
  icon?: string;
}

export interface BadgeModel {
  tone: Tone;
  label: string;
}

export interface Hop {
  supplier: string;
  region?: string;
  outcome: 'served' | 'failed' | 'skipped';
  reason?: string;
}

export interface RouteLineModel {
  hops: Hop[];
}

export interface MeterModel {
  label: string;
  /** Whole percent of the limit, at most 100: the text says by how much it is over. */
  filled: number;
  text: string;
  note?: string;
  tone: Tone;
  ticks: readonly number[];
}

/** A value together with how it is shown. */
export type Figure =
  | { kind: 'text' | 'code' | 'copy'; value: string }
  | { kind: 'money' | 'cost'; value: string | bigint | null }
  | { kind: 'number' | 'compact' | 'percent' | 'latency'; value: number | null }
  | { kind: 'time' | 'clock' | 'date'; value: Date | string | null }
  | { kind: 'link'; value: string; href: string }
  | { kind: 'badge'; value: BadgeModel }
  | { kind: 'route'; value: RouteLineModel }
  | { kind: 'meter'; value: MeterModel };

/** A heading may have a second line. */
export type Cell = Figure & { heading?: boolean; note?: string; align?: 'end'; minor?: boolean };

export interface LabelledFigure {
  label: string;
  figure: Figure;
}

export interface ColumnModel {
  label: string;
  align?: 'end';
  /** It is hidden on a narrow screen; the row's detail then shows it. */
  minor?: boolean;
  sortHref?: string;
  sorted?: 'ascending' | 'descending';
}

interface TimelineItem {
  title: string;
  tone: Tone;
  badge?: BadgeModel;
  figure?: Figure;
  text?: string;
  at?: Date | string;
}

export interface TimelineModel {
  items: TimelineItem[];
}

/** A thumb up and a thumb down on an answer, as a form. */
export interface ThumbsModel {
  action: string;
  name: string;
  value: string;
  given: 'up' | 'down' | null;
  label?: string;
  isHidden?: boolean;
}

export interface RowDetail {
  id: string;
  /** Names the row for screen readers. */
  name: string;
  href: string;
  open?: boolean;
  items?: LabelledFigure[];
  diff?: DiffModel;
  timeline?: TimelineModel;
  thumbs?: ThumbsModel;
}

export interface RowModel {
  cells: Cell[];
  href?: string;
  detail?: RowDetail;
}

export interface EmptyModel {
  title: string;
  text: string;
  action?: Link & { quiet?: boolean };
  code?: string;
}

export interface TableModel {
  caption: string;
  columns: ColumnModel[];
  rows: RowModel[];
  totals?: Cell[];
  compact?: boolean;
  hasDetail?: boolean;
  /** Columns a detail row spans, its own toggle included. */
  span?: number;
  /** It is shown instead of a table without rows: a blank table explains nothing. */
  empty: EmptyModel;
}

export interface TileModel extends LabelledFigure {
  href?: string;
  change?: { tone: Tone; icon: 'arrow-up' | 'arrow-down'; text: string };
  spark?: { points: string };
  meter?: MeterModel;
  note?: string;
}

export interface Choice {
  value: string;
  label: string;
  selected?: boolean;
  checked?: boolean;
  note?: string;
}

export interface FieldModel {
  id: string;
  name: string;
  label: string;
  type?:
    | 'text'
    | 'email'
    | 'password'
    | 'search'
    | 'number'
    | 'date'
    | 'datetime-local'
    | 'select'
    | 'textarea'
    | 'checkbox';
  value?: string;
  checked?: boolean;
  options?: Choice[];
  /** These may be typed into a field that takes more than them. */
  suggestions?: Choice[];
  rows?: number;
  width?: 'wide';
  autocomplete?: string;
  inputMode?: 'numeric' | 'decimal' | 'email';
  placeholder?: string;
  /** The field that the key `/` focuses. */
  filterKey?: boolean;
  /** A minor filter waits behind "more filters". */
  minor?: boolean;
  required?: boolean;
  optional?: boolean;
  disabled?: boolean;
  help?: string;
  error?: string;
}

export interface MoneyFieldModel {
  id: string;
  name: string;
  label: string;
  value?: string;
  period?: { name: string; options: Choice[] };
  required?: boolean;
  optional?: boolean;
  help?: string;
  error?: string;
}

export interface ChecklistPickerModel {
  legend: string;
  name: string;
  modeName?: string;
  modes?: Choice[];
  searchId?: string;
  groups: { label?: string; items: Choice[] }[];
  help?: string;
}

export interface FilterBarModel {
  label: string;
  action: string;
  /** The element htmx replaces; without it, or without JavaScript, the page reloads. */
  target?: string;
  hidden?: { name: string; value: string }[];
  fields: FieldModel[];
  /** These stand behind "more filters", which is open while one of them is set. */
  more?: { fields: FieldModel[]; open: boolean };
  clearHref?: string;
}

export interface PeriodPickerModel {
  options: (Link & { current?: boolean })[];
  zone: string;
}

export interface PagerModel {
  /** Names what is paged through, as a page may have several. */
  label: string;
  summary: string;
  newerHref?: string;
  olderHref?: string;
}

export interface BannerModel {
  tone: Tone;
  title?: string;
  text: string;
  code?: string;
  requestId?: string;
  action?: Link;
}

export interface ToastModel {
  tone: Tone;
  text: string;
}

export interface SnippetTabsModel {
  id: string;
  label: string;
  snippets: { id: string; label: string; code: string }[];
}

export interface SecretOnceModel {
  id: string;
  heading: string;
  secret: string;
  environmentName: string;
  snippets: SnippetTabsModel;
  doneHref: string;
}

export interface ConfirmModel {
  id: string;
  heading: string;
  subject: string;
  consequence: string;
  action: string;
  confirmLabel: string;
  hidden?: { name: string; value: string }[];
  /** Asked for only where nothing can bring back what goes. */
  phrase?: string;
}

export interface TabsModel {
  label: string;
  items: (Link & { current?: boolean; count?: number })[];
}

export interface DiffModel {
  caption: string;
  rows: { field: string; before?: string; after?: string; kind: 'added' | 'changed' | 'removed' }[];
}

export interface MessageModel {
  role: 'user' | 'assistant';
  author: string;
  badge?: BadgeModel;
  streaming?: boolean;
  blocks: ({ text: string } | { code: string; language: string })[];
  route?: RouteLineModel;
  tokens?: number;
  price?: string | bigint;
  duration?: number;
}

/** The one shape of every mail: what happened, and at most one thing to do about it. */
export interface MailNoticeModel {
  heading: string;
  paragraphs: string[];
  action?: Link;
}
