// SPDX-License-Identifier: Apache-2.0
// YAML for people and for kubectl: the same values as the JSON, never with aliases.
import { stringify } from 'yaml';

export const renderYaml = (value: unknown): string => stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
