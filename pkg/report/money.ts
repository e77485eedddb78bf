// SPDX-License-Identifier: Apache-2.0
// Money for people: two decimals, thousands apart, the currency behind.

const CENTS = 2;

export const moneyText = (amount: number, currency: string): string =>
  `${amount.toFixed(CENTS).replace(/\B(?=(?:\d{3})+\.)/g, ',')} ${currency}`;
