import {
  actionNames,
  type ActivityEntry,
  actionText,
  type Changes,
  type ExtensionAction,
  objectTextKey,
  objectTypes,
} from '../../audit';
import type { Scope } from '../../kernel';
import {
  type ChoiceModel,
  column,
  type DiffModel,
  type FieldModel,
  type Figure,
  type LabelledFigure,
  mixedColumn,
  type RowDetail,
  type Translate,
} from '../../views';
import { addressOf, type HttpRequest, type ListDescription, pathOf, queryOf, describeScope } from '../../web';
import type { AuditLogQuery } from './audit-log.dto';

export interface AuditLogContext {
  readonly request: HttpRequest;
  readonly query: AuditLogQuery;
  readonly scope: Scope;
  readonly timeZone: string;
  readonly translate: Translate;
  readonly extensionActions: readonly ExtensionAction[];
  readonly organisations: ReadonlyMap<number, string>;
}

export function auditLogList(context: AuditLogContext): ListDescription<ActivityEntry> {
  const { request, scope, timeZone, translate } = context;
  return {
    heading: translate('audit.heading'),
    scope: `${describeScope(request, translate, scope)} · ${timeZone}`,
    columns: [
      column('activity.page.time', 'time', ({ occurredAt }) => occurredAt),
      column('activity.page.what', 'text', ({ action }) => actionText(action, translate), 'heading'),
      mixedColumn('activity.page.object', (entry) => objectLink(entry, context)),
      mixedColumn('activity.page.who', (entry) => actorFigure(entry, request)),
      ...(scope.kind === 'platform'
        ? [
            column<ActivityEntry, 'text'>(
              'audit.organisation',
              'text',
              ({ organisationId }) => organisationOf(organisationId, context),
              'minor',
            ),
          ]
        : []),
      column('activity.page.address', 'text', ({ address }) => address ?? '–', 'minor'),
    ],
    fields: fieldsOf(context),
    row: (entry) => ({ detail: detailOf(entry, context) }),
    nothingYet: { title: translate('audit.nothing-title'), text: translate('audit.nothing-text') },
  };
}

function fieldsOf({ query, translate, extensionActions }: AuditLogContext): FieldModel[] {
  const selectField = (name: string, label: string, choices: readonly ChoiceModel[]): FieldModel => ({
    id: `filter-${name}`,
    name,
    label: translate(label),
    type: 'select',
    options: [{ value: '', label: translate('list.all') }, ...choices],
  });
  const dayField = (name: 'from' | 'to'): FieldModel => ({
    id: `filter-${name}`,
    name,
    label: translate(`audit.${name}`),
    type: 'date',
    value: query[name],
  });
  const searchField = (name: 'actor' | 'object', label: string, placeholder?: string): FieldModel => ({
    id: `filter-${name}`,
    name,
    label: translate(label),
    type: 'search',
    value: query[name],
    width: 'wide',
    filterKey: name === 'actor',
    ...(placeholder === undefined ? {} : { placeholder: translate(placeholder) }),
  });
  return [
    searchField('actor', 'activity.page.who', 'audit.actor'),
    selectField(
      'action',
      'activity.page.what',
      [...actionNames, ...extensionActions].map((name) => ({
        value: name,
        label: actionText(name, translate),
        selected: query.action === name,
      })),
    ),
    selectField(
      'type',
      'activity.page.object',
      objectTypes.map((type) => ({
        value: type,
        label: translate(objectTextKey(type)),
        selected: query.type === type,
      })),
    ),
    searchField('object', 'audit.object'),
    dayField('from'),
    dayField('to'),
  ];
}

function detailOf(entry: ActivityEntry, context: AuditLogContext): RowDetail {
  const { request, query, translate } = context;
  return {
    id: `entry-${entry.id}`,
    name: actionText(entry.action, translate),
    href: `${addressOf(pathOf(request), queryOf(request), { open: entry.id })}#entry-${entry.id}`,
    open: query.open === entry.id,
    items: detailsOf(entry, context),
    ...(entry.changes === null ? {} : { diff: diffOf(entry.changes, translate) }),
  };
}

function objectLink({ object }: ActivityEntry, { request, translate }: AuditLogContext): Figure {
  const { id, label, type } = object;
  const typeLabel = translate(objectTextKey(type));
  const href = filteredHref(request, { type, object: id ?? label ?? '' });
  return { kind: 'link', value: label ?? (id === null ? typeLabel : `${typeLabel} ${id}`), href };
}

const filteredHref = (request: HttpRequest, changes: Readonly<Record<string, string>>): string =>
  addressOf(pathOf(request), queryOf(request), { ...changes, cursor: null, open: null });

function actorFigure({ actor }: ActivityEntry, request: HttpRequest): Figure {
  if (actor.userId === null || actor.kind !== 'user') return { kind: 'text', value: actor.label };
  return { kind: 'link', value: actor.label, href: filteredHref(request, { actor: String(actor.userId) }) };
}

const organisationOf = (id: number | null, { organisations }: AuditLogContext): string =>
  id === null ? '–' : (organisations.get(id) ?? `#${id}`);

function detailsOf(entry: ActivityEntry, context: AuditLogContext): LabelledFigure[] {
  const { translate } = context;
  const { actor, object } = entry;
  const isFromOtherOrganisation = actor.kind === 'user' && actor.organisationId !== entry.organisationId;
  const textFigure = (key: string, value: string | null): LabelledFigure[] =>
    value === null ? [] : [{ label: translate(key), figure: { kind: 'text', value } }];
  const copyFigure = (key: string, value: string | null): LabelledFigure[] =>
    value === null ? [] : [{ label: translate(key), figure: { kind: 'copy', value } }];
  return [
    ...textFigure('activity.page.who', actor.label),
    ...textFigure('audit.role', actor.role === null ? null : translate(`audit.roles.${actor.role}`)),
    ...textFigure(
      'audit.acting-in',
      isFromOtherOrganisation ? organisationOf(entry.organisationId, context) : null,
    ),
    ...textFigure('activity.page.object', object.label),
    ...copyFigure('audit.object-id', object.id),
    ...textFigure('activity.page.reason', entry.reason),
    ...textFigure('activity.page.address', entry.address),
    ...copyFigure('activity.page.request', entry.requestId),
    ...copyFigure('audit.entry', entry.id),
  ];
}

function diffOf(changes: Changes, translate: Translate): DiffModel {
  return {
    caption: translate('audit.changes'),
    rows: Object.entries(changes).map(([field, [before, after]]) => ({
      field,
      ...(before === null ? {} : { before: valueText(before) }),
      ...(after === null ? {} : { after: valueText(after) }),
      kind: before === null ? 'added' : after === null ? 'removed' : 'changed',
    })),
  };
}

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
