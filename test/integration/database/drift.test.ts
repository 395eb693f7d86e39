import 'reflect-metadata';
import { entities } from '../../../src/app.module';
import { assertNoDrift } from '../../support/drift';

test('entities say what the migrations made', () => assertNoDrift(entities));
