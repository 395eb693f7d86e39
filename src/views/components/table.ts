import type { Translate } from '../translations';
import type { TableCell, EmptyModel, Figure, RowModel, TableModel } from './models';

/** A heading names the row; defaults to the first column. A minor column is hidden on a narrow screen. */
type ColumnFlag = 'heading' | 'minor' | 'end';
type CellContent = Figure & Pick<TableCell, 'note'>;
type FigureValues = { [Each in Exclude<Figure, { kind: 'link' }> as Each['kind']]: Each['value'] };

/** A table column: its label (a locale key), and how to render a cell of it. */
export interface TableColumn<Row> {
  readonly label: string;
  readonly show: (row: Row) => CellContent;
  readonly marks: ReadonlySet<ColumnFlag>;
}

/** Kinds of figures that are compared, so they are aligned at the end. */
const endAlignedKinds: ReadonlySet<string> = new Set([
  'compact',
  'cost',
  'latency',
  'money',
  'number',
  'percent',
]);

export const column = <Row, Kind extends keyof FigureValues>(
  label: string,
  kind: Kind,
  value: (row: Row) => FigureValues[Kind],
  ...marks: readonly ColumnFlag[]
): TableColumn<Row> =>
  mixedColumn(
    label,
    (row) => ({ kind, value: value(row) }) as Figure,
    ...marks,
    ...(endAlignedKinds.has(kind) ? (['end'] as const) : []),
  );

export const mixedColumn = <Row>(
  label: string,
  show: (row: Row) => CellContent,
  ...marks: readonly ColumnFlag[]
): TableColumn<Row> => ({ label, show, marks: new Set(marks) });

export interface TableDefinition<Row> {
  readonly caption: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly row?: (row: Row) => Omit<RowModel, 'cells'>;
  readonly compact?: boolean;
  readonly empty?: EmptyModel;
}

export function tableOf<Row>(
  rows: readonly Row[],
  { caption, columns, row: rowOf, compact, empty }: TableDefinition<Row>,
  translate: Translate,
): TableModel {
  const heading = Math.max(
    0,
    columns.findIndex(({ marks }) => marks.has('heading')),
  );
  const layouts = columns.map(({ marks }, index) => ({
    ...(marks.has('end') && index !== heading && { align: 'end' as const }),
    ...(marks.has('minor') && { minor: true }),
  }));
  const rowModels = rows.map((row) => ({
    ...rowOf?.(row),
    cells: columns.map(({ show }, index) => ({
      ...show(row),
      ...layouts[index],
      ...(index === heading && { heading: true }),
    })),
  }));
  const hasDetail = rowModels.some(({ detail }) => detail !== undefined);
  return {
    caption,
    columns: columns.map(({ label }, index) => ({ label: translate(label), ...layouts[index] })),
    rows: rowModels,
    ...(compact && { compact }),
    hasDetail,
    span: columns.length + (hasDetail ? 1 : 0),
    empty: empty ?? {
      title: translate('administration.nothing-title'),
      text: translate('administration.nothing-text'),
    },
  };
}
