import {
  Access,
  Action,
  Body,
  Controller,
  Csv,
  type CsvTable,
  done,
  fault,
  field,
  Module,
  Page,
  PathId,
  type Reader,
  Takes,
  TheReader,
} from '@switchboard/extension/nest';
import { CostCentres, type Kind, kinds } from './cost-centres';
import { monthAt } from './report';

const home = '/x/cost-centres';

/** The form on the page uses these limits, and the server validates them. */
class AssignmentForm {
  @Takes(field.oneOf(kinds))
  kind: Kind;

  @Takes(field.whole(1, 2_147_483_647))
  number: number;

  @Takes(field.matching(/^[A-Za-z0-9][A-Za-z0-9.-]{0,19}$/, 'up to 20 letters, digits, dots and hyphens'))
  cost_centre: string;
}

/** Organisation that is shown; null for an operator who has chosen none in the admin view. */
const organisationOf = ({ scope, organisationId }: Reader): number | null =>
  scope.kind === 'organisation' ? scope.organisationId : organisationId;

function ownOrganisation(reader: Reader): number {
  const organisationId = organisationOf(reader);
  if (organisationId === null) throw fault('conflict', { reason: 'no-organisation' });
  return organisationId;
}

@Controller('x/cost-centres')
class CostCentresController {
  constructor(private readonly centres: CostCentres) {}

  @Page('/', 'list', Access.role('org_admin'))
  async show(@TheReader() reader: Reader): Promise<object> {
    const organisationId = organisationOf(reader);
    const month = monthAt(new Date());
    const assignments = organisationId === null ? [] : await this.centres.list(organisationId, month);
    return {
      month,
      isChosen: organisationId !== null,
      assignments: assignments.map((each) => ({ ...each, what: nameOf(each, reader) })),
      kinds: kinds.map((value) => ({ value, label: reader.text(`kinds.${value}`) })),
    };
  }

  @Action('assignments', Access.role('org_admin'), { audit: 'assigned' })
  async assign(@Body() form: AssignmentForm, @TheReader() reader: Reader): Promise<object> {
    const { kind, number, cost_centre: costCentre } = form;
    const previous = await this.centres.assign(ownOrganisation(reader), kind, number, costCentre);
    const what = nameOf(form, reader);
    return done(
      home,
      { ...form },
      {
        told: 'assigned',
        values: { what, costCentre },
        record: { id: `${kind} ${number}`, label: what, changes: { cost_centre: [previous, costCentre] } },
      },
    );
  }

  @Action('assignments/:id/remove', Access.role('org_admin'), { audit: 'removed' })
  async remove(@PathId('id') id: number, @TheReader() reader: Reader): Promise<object> {
    const removed = await this.centres.remove(ownOrganisation(reader), id);
    if (removed === undefined) throw fault('not_found');
    const { kind, number, cost_centre: previous } = removed;
    const what = nameOf(removed, reader);
    return done(
      home,
      { id },
      {
        told: 'removed',
        values: { what },
        record: { id: `${kind} ${number}`, label: what, changes: { cost_centre: [previous, null] } },
      },
    );
  }

  @Csv('export', Access.role('org_admin'), 'cost-centres')
  async file(@TheReader() reader: Reader): Promise<CsvTable> {
    const month = monthAt(new Date());
    const rows = await this.centres.list(ownOrganisation(reader), month);
    return {
      columns: ['month', 'cost_centre', 'kind', 'number', 'requests', 'cost_usd'],
      rows: rows.map((row) => [month, row.cost_centre, row.kind, row.number, row.requests, row.cost_usd]),
    };
  }
}

const nameOf = (
  { kind, number }: { readonly kind: Kind; readonly number: number },
  { text }: Reader,
): string => `${text(`kinds.${kind}`)} ${number}`;

@Module({ controllers: [CostCentresController], providers: [CostCentres] })
export class CostCentresModule {}
