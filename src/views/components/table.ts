import type { Translate } from '../translations';
import type { Cell, EmptyModel, Figure, RowModel, TableModel } from './models';

/** A heading names the row; without one the first column does. A minor column is hidden on a narrow screen. */
type Mark = 'heading' | 'minor' | 'end';
type Shown = Figure & Pick<Cell, 'note'>;
type Values = { [Each in Exclude<Figure, { kind: 'link' }> as Each['kind']]: Each['value'] };

/** A column of a table, in one place: its head, a text of the locales, and what it shows of a row. */
export interface Column<Row> {
  readonly label: string;
  readonly show: (row: Row) => Shown;
  readonly marks: ReadonlySet<Mark>;
}

/** Figures that are compared stand below one another. */
const compared: ReadonlySet<string> = new Set(['compact', 'cost', 'latency', 'money', 'number', 'percent']);

export const column = <Row, Kind extends keyof Values>(
  label: string,
  kind: Kind,
  value: (row: Row) => Values[Kind],
  ...marks: readonly Mark[]
): Column<Row> =>
  mixed(
    label,
    (row) => ({ kind, value: value(row) }) as Figure,
    ...marks,
    ...(compared.has(kind) ? (['end'] as const) : []),
  );

/** A column whose rows show figures of several kinds. */
export const mixed = <Row>(
  label: string,
  show: (row: Row) => Shown,
  ...marks: readonly Mark[]
): Column<Row> => ({ label, show, marks: new Set(marks) });

export interface TableInput<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** The row leads to an address, and shows more when it is opened. */
  readonly row?: (row: Row) => Omit<RowModel, 'cells'>;
  readonly compact?: boolean;
  readonly empty?: EmptyModel;
}

export function tableOf<Row>(
  rows: readonly Row[],
  { caption, columns, row: rowOf, compact, empty }: TableInput<Row>,
  translate: Translate,
): TableModel {
  const heading = Math.max(
    0,
    columns.findIndex(({ marks }) => marks.has('heading')),
  );
  const places = columns.map(({ marks }, place) => ({
    ...(marks.has('end') && place !== heading && { align: 'end' as const }),
    ...(marks.has('minor') && { minor: true }),
  }));
  const shown = rows.map((row) => ({
    ...rowOf?.(row),
    cells: columns.map(({ show }, place) => ({
      ...show(row),
      ...places[place],
      ...(place === heading && { heading: true }),
    })),
  }));
  const hasDetail = shown.some(({ detail }) => detail !== undefined);
  return {
    caption,
    columns: columns.map(({ label }, place) => ({ label: translate(label), ...places[place] })),
    rows: shown,
    ...(compact && { compact }),
    hasDetail,
    span: columns.length + (hasDetail ? 1 : 0),
    empty: empty ?? {
      title: translate('administration.nothing-title'),
      text: translate('administration.nothing-text'),
    },
  };
}
