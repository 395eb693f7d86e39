/** Models of the partials, each named after its partial. */
export type Tone = 'neutral' | 'ok' | 'warn' | 'bad' | 'info';

export interface LinkModel {
  label: string;
  href: string;
  icon?: string;
}

export interface BadgeModel {
  tone: Tone;
  label: string;
}

export interface HopModel {
  supplier: string;
  region?: string;
  outcome: 'served' | 'failed' | 'skipped';
  reason?: string;
}

export interface RouteLineModel {
  hops: HopModel[];
}

export interface MeterModel {
  label: string;
  /** Percent of the limit, an integer up to 100; the text says by how much it is exceeded. */
  filled: number;
  text: string;
  note?: string;
  tone: Tone;
  ticks: readonly number[];
}

export type Figure =
  | { kind: 'text' | 'code' | 'copy'; value: string }
  | { kind: 'money' | 'cost'; value: string | bigint | null }
  | { kind: 'number' | 'compact' | 'percent' | 'latency'; value: number | null }
  | { kind: 'time' | 'clock' | 'date'; value: Date | string | null }
  | { kind: 'link'; value: string; href: string }
  | { kind: 'badge'; value: BadgeModel }
  | { kind: 'route'; value: RouteLineModel }
  | { kind: 'meter'; value: MeterModel };

/** A figure in a table. A heading can have a second line, the note. */
export type TableCell = Figure & { heading?: boolean; note?: string; align?: 'end'; minor?: boolean };

export interface LabelledFigure {
  label: string;
  figure: Figure;
}

export interface ColumnModel {
  label: string;
  align?: 'end';
  /** Hidden on a narrow screen; the row's detail then shows it. */
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
  cells: TableCell[];
  href?: string;
  detail?: RowDetail;
}

export interface EmptyModel {
  title: string;
  text: string;
  action?: LinkModel & { quiet?: boolean };
  code?: string;
}

export interface TableModel {
  caption: string;
  columns: ColumnModel[];
  rows: RowModel[];
  totals?: TableCell[];
  compact?: boolean;
  hasDetail?: boolean;
  /** Number of columns a detail row spans, including its toggle. */
  span?: number;
  empty: EmptyModel;
}

export interface TileModel extends LabelledFigure {
  href?: string;
  change?: { tone: Tone; icon: 'arrow-up' | 'arrow-down'; text: string };
  spark?: { points: string };
  meter?: MeterModel;
  note?: string;
}

export interface ChoiceModel {
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
  options?: ChoiceModel[];
  /** Suggested values; others can be typed. */
  suggestions?: ChoiceModel[];
  rows?: number;
  width?: 'wide';
  autocomplete?: string;
  inputMode?: 'numeric' | 'decimal' | 'email';
  placeholder?: string;
  /** The key `/` focuses this field. */
  filterKey?: boolean;
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
  period?: { name: string; options: ChoiceModel[] };
  required?: boolean;
  optional?: boolean;
  help?: string;
  error?: string;
}

export interface ChecklistPickerModel {
  legend: string;
  name: string;
  modeName?: string;
  modes?: ChoiceModel[];
  searchId?: string;
  groups: { label?: string; items: ChoiceModel[] }[];
  help?: string;
}

export interface FilterBarModel {
  label: string;
  action: string;
  /** Element that htmx replaces; without it, or without JavaScript, the page reloads. */
  target?: string;
  hidden?: { name: string; value: string }[];
  fields: FieldModel[];
  /** Filters behind "more filters", which is open if one of them is set. */
  more?: { fields: FieldModel[]; open: boolean };
  clearHref?: string;
}

export interface PeriodPickerModel {
  options: (LinkModel & { current?: boolean })[];
  zone: string;
}

export interface PagerModel {
  /** Names the list, as a page can have several. */
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
  action?: LinkModel;
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
  /** Text to type as confirmation; required only for irreversible actions. */
  phrase?: string;
}

export interface TabsModel {
  label: string;
  items: (LinkModel & { current?: boolean; count?: number })[];
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

/** Model of every email: what happened, and at most one action. */
export interface MailNoticeModel {
  heading: string;
  paragraphs: string[];
  action?: LinkModel;
}
